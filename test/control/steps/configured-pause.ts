/** A pause in the configuration: a command does not end it, and each of the two pauses is effective alone. */

import type { ControlledWorld } from "../controlled-world.ts";
import { idsOf } from "../ledger.ts";
import { Rows } from "../row.ts";

const CALLS = 100;

export async function configuredPause(world: ControlledWorld): Promise<Rows> {
  const rows = new Rows("paused: true");
  const { ledger, receiver } = world;
  const shownReasons = async (about: string, by: string) => {
    await world.until(async () => (await world.holdReasons()) === by);
    rows.same(about, by, await world.holdReasons());
  };
  world.configure({ paused: true });
  await shownReasons("why crm is on hold", "configuration, configuration");
  const resumed = await world.command("resume", "crm");
  const says = "crm is still paused: the configuration has `paused: true`.\n";
  rows.same("resume says", says.trim(), resumed.err.trim());
  const calls = await ledger.publish(CALLS);
  const ofThem = (id: string) => {
    const wanted = new Set(idsOf(calls));
    return idsOf(receiver.all(id)).filter((each) => wanted.has(each));
  };
  await world.until(() => ofThem("other").length >= CALLS);
  rows.calls("arrived at other", idsOf(calls), ofThem("other"));
  rows.calls("arrived at crm", [], ofThem("crm"));
  await world.command("pause", "crm");
  world.configure({});
  await shownReasons("after the configuration, a command holds it", "command, command");
  rows.calls("arrived at crm still", [], ofThem("crm"));
  await world.command("resume", "crm");
  await world.until(() => ofThem("crm").length >= CALLS);
  rows.calls("resumed: arrived at crm", idsOf(calls), ofThem("crm"));
  return rows;
}
