/** Reports how many more files and sockets this process may open. */

import { readdirSync } from "node:fs";

/** The directories in which Linux and the BSDs list the open files of a process. */
const OPEN = ["/proc/self/fd", "/dev/fd"];

/** Returns null if the system has no limit or does not report it. Takes several milliseconds. */
export function spareDescriptors(): number | null {
  const most = descriptorLimit();
  if (most === null) return null;
  for (const directory of OPEN) {
    try {
      return Math.max(0, most - readdirSync(directory).length);
    } catch {
      // Continue with the next path.
    }
  }
  return most;
}

/** Node's own types do not declare this property. */
type Report = typeof process.report & { excludeNetwork?: boolean };

function descriptorLimit(): number | null {
  const report: Report = process.report;
  const before = report.excludeNetwork ?? false;
  // Without this setting, the report would resolve the names of all addresses.
  report.excludeNetwork = true;
  const { userLimits } = report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
  };
  report.excludeNetwork = before;
  const soft = userLimits?.open_files?.soft;
  return typeof soft === "number" ? soft : null;
}
