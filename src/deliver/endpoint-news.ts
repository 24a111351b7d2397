/**
 * The processes of a cluster tell each other of endpoints, by the topic `operator-actions`. The retries
 * of a destination are made by one process, so that the others would learn from first attempts alone.
 *
 *   a process                                       then
 *   tells of an endpoint                            a record is written, if none is under way; else the
 *                                                   latest of each endpoint follows it
 *   may not write, or the topic takes nothing       the news is lost, and nothing waits for it
 *   is killed before it is written                  the same: each process still probes on its own
 *   reads its own record                            nothing: it knows that
 *
 * Nothing is written while all is well, and of an endpoint at most one record a second
 * (`endpoint-availability.ts`). No offset depends on any of it.
 */

import type { OperatorActions } from "../control/operator-action-state.ts";
import { type EndpointNews, endpointRecord } from "../control/operator-actions.ts";
import type { DestinationId, EndpointKey } from "../domain/ids.ts";
import type { Producer } from "../kafka/port.ts";
import type { News } from "./endpoint-availability.ts";

/** Records of one request: a thousand destinations may fail at once. */
const TOGETHER_MAX = 200;

export interface TellTo {
  readonly producer: Pick<Producer, "send">;
  /** `operator-actions`. */
  readonly topic: string;
  /** Tells this process from all others. */
  readonly process: string;
}

export class NewsOfEndpoints implements Disposable {
  readonly #to: TellTo;
  /** By endpoint and destination: the latest that is not written. */
  readonly #unwritten = new Map<string, EndpointNews>();
  readonly #end: () => void;
  #isWriting = false;

  /** @param onNews called with what other processes tell, until this is disposed of. */
  constructor(to: TellTo, operatorActions: OperatorActions, onNews: (news: EndpointNews) => void) {
    this.#to = to;
    this.#end = operatorActions.onNews((news) => {
      if (news.process !== to.process) onNews(news);
    });
  }

  teller(destination: DestinationId): (endpoint: EndpointKey, news: News) => void {
    return (endpoint, news) => {
      const reported = { destination, endpoint, process: this.#to.process, ...news };
      this.#unwritten.set(`${destination}/${endpoint}`, reported);
      void this.#write();
    };
  }

  [Symbol.dispose](): void {
    this.#end();
    this.#unwritten.clear();
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    while (this.#unwritten.size > 0) {
      const news = [...this.#unwritten].slice(0, TOGETHER_MAX);
      for (const [key] of news) this.#unwritten.delete(key);
      const records = news.map(([, each]) => endpointRecord(this.#to.topic, each));
      await this.#to.producer.send(records, { giveBack: true }).catch(() => undefined);
    }
    this.#isWriting = false;
  }
}
