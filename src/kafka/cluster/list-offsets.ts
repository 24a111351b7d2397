/**
 * Offsets of partitions, as their leader lists them: whatever is in the log, open transactions too.
 * A reader, which stops before these, asks for itself (`range-reader.ts`).
 */

import { type Broker, request } from "../kafkajs/internals.ts";

/** In place of a time: the end of the log. */
export const LATEST = -1;
/** In place of a time: the first offset that is left. */
export const EARLIEST = -2;
const READ_UNCOMMITTED = 0;
const NO_REPLICA = -1;

interface Place {
  readonly topic: string;
  readonly partition: number;
}

interface Listed extends Place {
  /** 0: none. */
  readonly errorCode: number;
  readonly offset: number;
}

interface ListOffsetsResponse {
  readonly responses: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly errorCode: number;
      readonly offset: string;
    }[];
  }[];
}

/** @param asked partitions that this broker leads. */
export async function listOffsets(
  leader: Broker,
  asked: readonly Place[],
  timestamp: typeof LATEST | typeof EARLIEST,
): Promise<readonly Listed[]> {
  const topics = [...Map.groupBy(asked, ({ topic }) => topic)].map(([topic, of]) => ({
    topic,
    partitions: of.map(({ partition }) => ({ partition, timestamp })),
  }));
  const { responses } = await request<ListOffsetsResponse>(leader, "ListOffsets", {
    replicaId: NO_REPLICA,
    isolationLevel: READ_UNCOMMITTED,
    topics,
  });
  return responses.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition, errorCode, offset }) => {
      return { topic, partition, errorCode, offset: Number(offset) };
    }),
  );
}
