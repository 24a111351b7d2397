/**
 * The processes of a cluster inform each other about endpoints through the topic `operator-actions`. Without
 * these reports, a process that makes no retries for a destination would learn the state of the destination's
 * endpoints only from first attempts.
 *
 *   a process                                         result
 *   reports about an endpoint                         a record is written; if a write is in progress, the latest
 *                                                     report for each endpoint is written after it
 *   has no permission, or the topic is not writable   the report is lost, and nothing waits for it
 *   is killed before the record is written            the same: each process still sends its own probes
 *   gets a response of 410                            a record is written that stays, also for later processes;
 *                                                     such records that are 30 days old are removed, if their URLs
 *                                                     are not configured in this process
 *   is killed before that                             the endpoint gets another request, whose response does the same
 *   still has a URL whose record was removed          it gets one request, and has a record again
 *   reads its own record                              nothing
 *   reads that a proxy fails, from a process with a   nothing, because that process waits for this one
 *   higher ID
 *
 * No record is written while all endpoints work; otherwise, at most one per second about an endpoint, and two for each
 * probe of a proxy (`endpoint-availability.ts`). No offset waits for these records.
 */

import type { DestinationId, EndpointKey } from "../../domain/ids.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import type { Producer } from "../../kafka/port.ts";
import type { OperatorActions } from "../control/operator-action-state.ts";
import {
  type EndpointNews,
  endpointRecord,
  forgetRecord,
  type GoneEndpoint,
  goneRecord,
} from "../control/operator-actions.ts";
import type { News } from "./endpoint-availability.ts";

/**
 * Maximum number of records per request. There is a maximum because a thousand destinations may fail at the
 * same time.
 */
const TOGETHER_MAX = 200;

export interface TellTo {
  readonly producer: Pick<Producer, "send">;
  /** The topic `operator-actions`. */
  readonly topic: string;
  readonly process: string;
}

export class NewsOfEndpoints implements Disposable {
  readonly #to: TellTo;
  /** The records that are not written yet: a later report replaces an earlier one. */
  readonly #unwritten = new Map<string, OutgoingRecord>();
  readonly #end: () => void;
  readonly #overGone: (nowMs: number) => readonly string[];
  #isWriting = false;

  /**
   * @param isConfigured true if this process sends requests to the endpoint.
   * @param onNews called with reports from other processes, until this object is disposed.
   */
  constructor(
    to: TellTo,
    operatorActions: OperatorActions,
    isConfigured: (destination: DestinationId, endpoint: EndpointKey) => boolean,
    onNews: (news: EndpointNews) => void,
  ) {
    this.#to = to;
    this.#overGone = (nowMs) => operatorActions.overGone(nowMs, isConfigured);
    this.#end = operatorActions.onNews((news) => {
      const isLater = news.news === "proxy-fails" && news.process > to.process;
      if (news.process !== to.process && !isLater) onNews(news);
    });
  }

  tell(destination: DestinationId, id: string, endpoint: EndpointKey, news: News): void {
    const reported = { destination, id, endpoint, process: this.#to.process, ...news };
    // News of a proxy does not replace news of the endpoint.
    const about = news.news.startsWith("proxy") ? "proxy" : "endpoint";
    this.#write(about, endpointRecord(this.#to.topic, reported));
  }

  gone(gone: GoneEndpoint): void {
    const { topic } = this.#to;
    this.#write("endpoint", goneRecord(topic, gone));
    for (const key of this.#overGone(gone.atMs)) this.#write("endpoint", forgetRecord(topic, key));
  }

  /** No news is passed on any more. What was reported is still written, as long as the producer is open. */
  [Symbol.dispose](): void {
    this.#end();
  }

  #write(about: string, record: OutgoingRecord): void {
    this.#unwritten.set(`${about} ${record.key}`, record);
    void this.#writeAll();
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    while (this.#unwritten.size > 0) {
      const next = [...this.#unwritten].slice(0, TOGETHER_MAX);
      for (const [key] of next) this.#unwritten.delete(key);
      const records = next.map(([, record]) => record);
      await this.#to.producer.send(records, { giveBack: true }).catch(() => undefined);
    }
    this.#isWriting = false;
  }
}
