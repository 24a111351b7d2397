/** Partitions of topics, told apart. */

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

export function isSame(one: Place, other: Place): boolean {
  return one.partition === other.partition && one.topic === other.topic;
}

export function overlaps(some: readonly Place[], others: readonly Place[]): boolean {
  return some.some((each) => others.some((other) => isSame(each, other)));
}
