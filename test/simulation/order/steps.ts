/**
 * The protocol: what is written for each action, in order. Each step ends with the acknowledgment of its write, and
 * only then the next one starts. The record is processed, so that its offset may be committed, at `finish`.
 *
 *   action   step                        if the process crashes after it
 *   aside    1 fact `wait`               it is read again, and its fact shows that it waits
 *            2 finish                    the next owner begins with its fact
 *   attempt  1 request                   it is attempted again: by the fact `wait`, or because it is read again
 *   divert   1 copy to a delay topic     it is attempted again here, and its copy there: the one that ends later is a
 *                                        repeat, which `settled` drops or an endpoint gets twice
 *            2 fact `retry`              its copy is retried, and the key waits
 *            3 finish, or forget         the same
 *   bury     1 dead letter               it is attempted again
 *            2 fact `settled`            the next one follows
 *            3 finish, or forget         the same
 *   hold     1 dead letter               it is attempted again
 *            2 fact `retry`              the key waits for an operator, who writes a copy or the fact `settled`
 *            3 finish, or forget         the same
 *   forget   1 tombstone of `wait`       nothing is repeated
 *
 *   a copy   step                        if the process crashes after it
 *   settled  1 finish                    -
 *   accepted 1 request                   it is attempted again
 *            2 fact `settled`            it is dropped; the next one follows
 *            3 finish                    the same
 *   failed   1 request                   it is attempted again
 *            2 copy to a delay topic     two copies exist, of which the later one is dropped when the first is settled
 *            3 finish                    the same
 *   dead     1 dead letter               it is attempted or dead-lettered again
 *            2 fact `settled`            it is dropped; the next one follows. Not written if dead letters hold their key
 *            3 finish                    the same
 *
 * The delay stage dead-letters canceled copies in the same way. While the retry topic is missing, it writes copies to a
 * delay topic again: in the queue, they would wait behind deliveries that wait for them.
 *
 * Before the owner of a partition decides anything, it reads the facts up to the end that the partition of facts has
 * after the assignment. The committed offset was fetched before that, so each fact on which a commit relies is read.
 * Facts of one partition are written in order by one producer, so a fact `wait` is never in the topic without those
 * that were written before it.
 *
 * `Design` names each rule that can be broken, to prove that the laws need it.
 */

export type Rule =
  /** A record is processed only when the facts about it are written. */
  | "fact-before-finish"
  /** A copy is written before the fact about it. */
  | "copy-before-fact"
  /** The fact `retry` is written before later deliveries of the key are set aside. */
  | "retry-before-wait"
  /** The fact `wait` is forgotten only when the delivery is settled, or has a fact `retry`. */
  | "forget-last"
  /** A fact `settled` is written for the dead letter of a copy. */
  | "dead-letters-settle"
  /** A fact `settled` is written for the dead letter of a first attempt, before the next delivery follows. */
  | "buried-settle"
  /** A canceled copy is settled. */
  | "cancels-settle"
  /** Copies that are settled are dropped. */
  | "drop-settled-copies"
  /** A new owner reads the facts up to their end. */
  | "read-to-the-end"
  /** A fact has its delivery's offset in its key. */
  | "one-fact-each"
  /** A delivery that is read again, without a fact, below a delivery with one, is settled. */
  | "no-fact-is-settled"
  /** Facts `settled` stay for longer than any copy, and longer than writes can be late. */
  | "keep-settled"
  /** Above the bound of blocked keys, deliveries of these keys start, and only those of other keys do not. */
  | "blocked-keys-continue"
  /** Later deliveries of a key wait. */
  | "wait-behind"
  /** A delivery is attempted only while the partition is certainly ours. */
  | "ours-before-attempt"
  /** While the retry topic is missing, copies go to a delay topic again, and not to the queue. */
  | "copies-avoid-queue";

export type Design = { readonly broken: Rule | null };

export const THE_DESIGN: Design = { broken: null };
