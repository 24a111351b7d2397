/** Collects ranges of bytes, which are joined at the end. Adjacent ranges from the same buffer become one range. */
export class Pieces {
  readonly #sources: Buffer[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  #length = 0;

  add(source: Buffer, start: number, end: number): void {
    const last = this.#sources.length - 1;
    this.#length += end - start;
    if (last >= 0 && this.#sources[last] === source && this.#ends[last] === start) {
      this.#ends[last] = end;
      return;
    }
    this.#sources.push(source);
    this.#starts.push(start);
    this.#ends.push(end);
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  addName(name: string): void {
    const bytes = Buffer.from(`${JSON.stringify(name)}:`);
    this.add(bytes, 0, bytes.length);
  }

  joined(): Buffer {
    const target = Buffer.allocUnsafe(this.#length);
    let at = 0;
    for (let index = 0; index < this.#sources.length; index += 1) {
      at += this.#sources[index]?.copy(target, at, this.#starts[index], this.#ends[index]) ?? 0;
    }
    return target;
  }
}
