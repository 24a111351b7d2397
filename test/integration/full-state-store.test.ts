// The real program on a real Kafka, with an audience store on a separate disk that is full: only the audience stage
// stops. The problem is reported everywhere, and the stage continues without a restart when there is space.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { useKafka } from "../support/kit/kafka.ts";
import { configOf, useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";
import { fillDisk, freeDisk, whyNoDisk, withDisk } from "../support/script/small-disk.ts";

test("a full disk of the audience store stops the audience stage alone, until there is room", async ({
  skip,
}) => {
  const { prefix, brokers } = useKafka("full");
  const receiver = await useReceiver();
  const world = useProgram((directory) => {
    const stateDir = join(directory, "state");
    mkdirSync(stateDir);
    const file = join(directory, "switchyard.yaml");
    const config = configOf({
      kafka: { brokers, topicPrefix: prefix },
      destinations: { crm: { messageIdHeader: false, endpoints: [{ url: receiver.url }] } },
      audienceDefaults: { source: "web", integrations: { All: false } },
      audience: { stateDir },
    });
    writeFileSync(file, config);
    return file;
  });
  const state = join(world.directory, "state");
  const why = whyNoDisk(state);
  if (why !== null) return skip(why);
  const program = await world.ready("route,deliver,delay,audience", withDisk(state, "12m"));
  // The path inside the program's namespace.
  const disk = join(`/proc/${program.child.pid}/root`, state);
  const users = join(world.directory, "users.txt");
  const publish = async (from: number, to: number) => {
    const ids = Array.from({ length: to - from }, (_, index) => `user-${from + index}\n`);
    writeFileSync(users, ids.join(""));
    const command = ["audience", "publish", "--name", "VIP", "--file", users];
    expect(await world.inProcess(command)).toMatchObject({ status: 0 });
  };
  const members = async () => {
    const { out } = await world.inProcess(["audience", "members", "vip"]);
    return out.split("\n").length - 1;
  };
  const unavailable = () => program.sample("switchyard_audience_state_stores_unavailable ");
  await publish(0, 1_000);
  await expect.poll(members).toBe(1_000);
  expect(await unavailable()).toBe(0);

  fillDisk(disk);
  await publish(0, 40_000);
  const restarting = await program.logged("stage.restarting");
  expect(restarting).toMatchObject({ stage: "audience", level: "error" });
  expect(restarting.error).toContain("No space left on device");
  await program.logged("stage.restarting", 3);
  expect(await unavailable()).toBe(1);
  expect(await program.get("/readyz")).toContain("No space left on device");
  const status = await world.inProcess(["status", "--admin", await program.admin()]);
  expect(status.out).toContain("1 state store of the audience stage cannot be used");

  const calls = join(world.directory, "calls.jsonl");
  writeFileSync(calls, '{"type":"track","userId":"u","event":"Delivered","messageId":"m-1"}\n');
  expect(await world.inProcess(["publish", calls])).toMatchObject({ status: 0 });
  await expect.poll(() => receiver.taken.map(({ body }) => body).join()).toContain("Delivered");
  expect(program.child.exitCode).toBeNull();

  freeDisk(disk);
  await expect.poll(members).toBe(40_000);
  await expect.poll(unavailable).toBe(0);
  await expect.poll(() => program.get("/readyz")).not.toContain("No space left");
  expect(program.lines.map(({ msg }) => msg)).not.toContain("stage.failed");
});
