/**
 * The endpoints of the product that is attacked. The first part of the path identifies an endpoint. It responds 200 to
 * a request whose signatures are correct, and otherwise 400.
 */

import { parsePayload, verify, verifyStandard } from "../../src/sdk/webhooks/index.ts";
import { startReceiver, type TakenRequest } from "../support/kit/receiver.ts";

export interface Received {
  readonly destination: string;
  readonly messageId: string;
  readonly headers: TakenRequest["headers"];
  readonly body: Buffer;
}

export interface Endpoints extends AsyncDisposable {
  readonly url: string;
  /** All accepted requests. */
  readonly received: readonly Received[];
  /** Why requests were refused. Each entry is a fault of the product. */
  readonly refused: readonly string[];
}

const DECODED_ID_MAX = 200;

export async function startEndpoints(secret: string): Promise<Endpoints> {
  const received: Received[] = [];
  const refused: string[] = [];
  const { url, [Symbol.asyncDispose]: dispose } = await startReceiver((request) => {
    const problem = problemWith(request, secret);
    if (problem === null) received.push(delivery(request));
    else refused.push(problem);
    return problem === null ? 200 : 400;
  });
  return { url, received, refused, [Symbol.asyncDispose]: dispose };
}

function delivery({ path, id, headers, bytes: body }: TakenRequest): Received {
  const [, destination = ""] = path.split("/");
  const messageId = id.length > DECODED_ID_MAX ? id : decodeURIComponent(id);
  return { destination, messageId, headers, body };
}

function problemWith({ headers, bytes, body }: TakenRequest, secret: string): string | null {
  try {
    if (!verify(bytes, `${headers["x-signature"]}`, secret)) return "X-Signature does not fit";
    if (!verifyStandard(bytes, headers, secret)) return "webhook-signature does not fit";
    if (JSON.stringify(JSON.parse(body)) !== body) return "the JSON changes";
    parsePayload(bytes);
    return null;
  } catch (error) {
    return `${error}`;
  }
}
