/**
 * Collects records for one topic in a bundle per partition, for callers that write very many records without urgency. A
 * record takes up only its bytes, and no object is created for it.
 *
 *   the topic's partitions   then
 *   are known                a record is added to the bundle of its key's partition
 *   are not known            a record is added to a bundle whose records get a partition later
 */

import { ByteText } from "../../domain/byte-text.ts";
import { partitionOfKey } from "../wire/murmur2.ts";
import { RecordBundle } from "../wire/record-bundle.ts";

/** How many bundles are kept for reuse. Each bundle keeps the largest buffer that it has needed. */
const SPARE_MAX = 16;
const UNPLACED = -1;

export class TextBundles {
  readonly #partitions: () => number;
  readonly #topic: string;
  readonly #key = new ByteText();
  #taken: RecordBundle[] = [];
  /** Indexed by partition + 1; the first bundle has no partition. */
  #open: (RecordBundle | undefined)[] = [];
  #spare: RecordBundle[] = [];
  #current: RecordBundle | null = null;

  /** @param partitions returns the current number of the topic's partitions; 0 if unknown. */
  constructor(topic: string, partitions: () => number) {
    this.#topic = topic;
    this.#partitions = partitions;
  }

  /** Starts a record. Its value is the text that is added until `end` is called. All of this must be synchronous. */
  open(key: string): ByteText {
    const text = this.#key;
    text.length = 0;
    if (!text.plain(key)) text.text(key);
    const partitions = this.#partitions();
    const { bytes, length } = text;
    this.#current = this.#in(
      partitions === 0 ? UNPLACED : partitionOfKey(bytes, partitions, length),
    );
    return this.#current.open(bytes, length);
  }

  /** Ends the record, and returns its number of bytes. */
  end(): number {
    const bytes = this.#current?.end() ?? 0;
    this.#current = null;
    return bytes;
  }

  /** Returns all collected bundles. The caller sends them, and then calls `giveBack`. */
  take(): readonly RecordBundle[] {
    const taken = this.#taken;
    this.#taken = [];
    this.#open = [];
    return taken;
  }

  /** Takes back bundles that were sent or dropped, so that their bytes can be reused. */
  giveBack(bundles: readonly RecordBundle[]): void {
    this.#spare = [...this.#spare, ...bundles].slice(0, SPARE_MAX);
  }

  #in(partition: number): RecordBundle {
    const known = this.#open[partition + 1];
    if (known !== undefined) return known;
    const bundle = this.#spare.pop() ?? new RecordBundle(this.#topic);
    bundle.begin(partition === UNPLACED ? null : partition);
    this.#open[partition + 1] = bundle;
    this.#taken.push(bundle);
    return bundle;
  }
}
