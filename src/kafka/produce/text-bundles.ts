/**
 * Gathers records of one topic in a bundle for each partition. For those who write very many, in no
 * hurry: a record costs its bytes, and nothing else is made for it.
 *
 *   the topic's partitions   then
 *   are known                a record goes into the bundle of its key's partition
 *   are not known            into one without a partition, whose records are placed one by one
 */

import { ByteText } from "../../domain/byte-text.ts";
import { partitionOfKey } from "../wire/murmur2.ts";
import { RecordBundle } from "../wire/record-bundle.ts";

/** Kept for later; each has the bytes of the most that it had to hold. */
const SPARE_MAX = 16;
const UNPLACED = -1;

export class TextBundles {
  readonly #partitions: () => number;
  readonly #topic: string;
  readonly #key = new ByteText();
  #taken: RecordBundle[] = [];
  /** By partition + 1; the first one has none. */
  #open: (RecordBundle | undefined)[] = [];
  #spare: RecordBundle[] = [];
  #current: RecordBundle | null = null;

  /** @param partitions of the topic by now; 0: not known. */
  constructor(topic: string, partitions: () => number) {
    this.#topic = topic;
    this.#partitions = partitions;
  }

  /** Begins a record. Its value is what is added until `end`, in the same turn. */
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

  /** Returns the bytes of the record. */
  end(): number {
    const bytes = this.#current?.end() ?? 0;
    this.#current = null;
    return bytes;
  }

  /** All that was gathered, as records to send. Give the same ones back when they are done with. */
  take(): readonly RecordBundle[] {
    const taken = this.#taken;
    this.#taken = [];
    this.#open = [];
    return taken;
  }

  /** They have been sent, or given up: their bytes serve again. */
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
