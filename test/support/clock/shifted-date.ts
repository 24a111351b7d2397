// The clock of a child process, wrong by `SHIFTED_BY_MS`: loaded with `--import` before the program.

const byMs = Number(process.env.SHIFTED_BY_MS);
const OwnDate = Date;
const nowMs = () => OwnDate.now() + byMs;

globalThis.Date = new Proxy(OwnDate, {
  construct: (target, given, by) =>
    Reflect.construct(target, given.length === 0 ? [nowMs()] : given, by) as Date,
  apply: () => new OwnDate(nowMs()).toString(),
  get: (target, name) => (name === "now" ? nowMs : Reflect.get(target, name)),
});
