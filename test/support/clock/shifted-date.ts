// Shifts the clock of a child process by `SHIFTED_BY_MS`, or by the current content of the file `SHIFTED_BY_FILE`. Load
// this with `--import` before the program.

import { readFileSync } from "node:fs";

const READ_EVERY_MS = 200;
const file = process.env.SHIFTED_BY_FILE;
let byMs = Number(process.env.SHIFTED_BY_MS ?? 0);
const OwnDate = Date;
const nowMs = () => OwnDate.now() + byMs;

if (file !== undefined) {
  const read = () => {
    byMs = Number(readFileSync(file, "utf8"));
  };
  read();
  setInterval(read, READ_EVERY_MS).unref();
}

globalThis.Date = new Proxy(OwnDate, {
  construct: (target, given, by) =>
    Reflect.construct(target, given.length === 0 ? [nowMs()] : given, by) as Date,
  apply: () => new OwnDate(nowMs()).toString(),
  get: (target, name) => (name === "now" ? nowMs : Reflect.get(target, name)),
});
