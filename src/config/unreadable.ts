/** Why a file cannot be read, in words. */

const WHY: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EISDIR: "it is a folder",
  ELOOP: "its symbolic links go in a circle",
  ENAMETOOLONG: "the path is too long",
  ENOENT: "there is no such file",
  ENOTDIR: "a part of the path is no folder",
};

export function whyUnreadable(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : null;
  return WHY[String(code)] ?? String(code ?? error);
}
