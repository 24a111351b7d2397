/**
 * Decides how the sockets of a destination reach its endpoints.
 *
 *   the destination has      its sockets
 *   no `tls`                 trust the public roots, and `delivery.ca`
 *   `tls`                    trust `tls.ca` in addition, and have its client certificate
 *   no `proxy`               go through `delivery.proxy`, if it is set
 *   `proxy`                  go through that proxy; with `none`, directly
 *
 * Proxies are verified with the public roots and `delivery.proxyCa`. The same settings result in equal options, so that
 * connections stay open (`kept-connection.ts`).
 */

import { isDeepStrictEqual } from "node:util";
import type { SocketOptions } from "../../../base/http/connect.ts";
import type { Resolve } from "../../../base/http/lookup.ts";
import { sharedContexts } from "../../../base/http/tls.ts";
import { proxyOf } from "../../../base/http/tunnel.ts";
import { isAllowedAddress } from "../../../domain/addresses.ts";
import type { Egress } from "../../../domain/live-settings.ts";
import type { TransportOptions } from "../port.ts";
import type { Connected } from "./http-port.ts";
import { proxyUrlOf } from "./settings.ts";

/**
 * The share of the remaining time that each address of a name gets. It is long enough to reach a distant address,
 * and if that address does not respond, enough time is left for another one.
 */
const ADDRESS_PATIENCE = 0.4;

const NO_FILES = { ca: null, cert: null, key: null };

export class Ways {
  readonly #contextOf = sharedContexts();
  readonly #sockets: Omit<SocketOptions, "secureContext" | "proxy">;
  #egress: Egress;
  /** The options of destinations without settings of their own. */
  #shared: SocketOptions;

  constructor(
    { allowNetworks, connectionMaxAgeMs, timeoutMs, ...egress }: TransportOptions,
    resolve: Resolve,
  ) {
    this.#sockets = {
      allowAddress: (ip) => isAllowedAddress(ip, allowNetworks),
      resolve,
      connectionMaxAgeMs,
      addressPatienceMs: Math.max(1, Math.round(timeoutMs * ADDRESS_PATIENCE)),
    };
    this.#egress = egress;
    this.#shared = this.#make({ tls: null, proxy: null });
  }

  /** Returns true if the settings have changed. */
  update({ ca, proxy, proxyCa }: Egress): boolean {
    const before = this.#egress;
    this.#egress = { ca, proxy, proxyCa };
    if (isDeepStrictEqual(this.#egress, before)) return false;
    this.#shared = this.#make({ tls: null, proxy: null });
    return true;
  }

  optionsOf({ tls, proxy }: Connected): SocketOptions {
    return tls === null && proxy === null ? this.#shared : this.#make({ tls, proxy });
  }

  #make({ tls, ...own }: Omit<Connected, "endpoints">): SocketOptions {
    const { ca, proxyCa, proxy: common } = this.#egress;
    const { cert, key, ca: ownCa } = tls ?? NO_FILES;
    const both = [ca, ownCa].filter((text) => text !== null).join("\n");
    const secureContext = this.#contextOf({ ca: both === "" ? null : both, cert, key });
    const url = proxyUrlOf(own, common);
    const proxyContext = this.#contextOf({ ...NO_FILES, ca: proxyCa });
    const proxy = url === null ? null : proxyOf(url, proxyContext);
    return { ...this.#sockets, secureContext, proxy };
  }
}
