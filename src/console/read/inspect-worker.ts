/** The worker thread of `inspect.ts`. */

import { env } from "node:process";
import { parentPort, workerData } from "node:worker_threads";

import { loadConfig } from "../../config/load.ts";
import { type Inspect, inspected } from "./inspect.ts";

type Sent = readonly [file: string, ...Parameters<Inspect>];

const [file, content, inPlace] = workerData as Sent;
parentPort?.postMessage(
  inspected((given) => loadConfig({ file, env, ...given }), content, inPlace),
);
