/** A destination of type topic: the route stage writes its deliveries to its topic, and other consumers read them. */

import { required, section } from "../../../base/settings/setting.ts";
import type { WrittenDestination } from "../../../domain/destination.ts";
import { commonSettings, idSetting, integrationName } from "../common-settings.ts";
import type { DestinationType } from "../port.ts";

export const topic: DestinationType<WrittenDestination> = {
  settings: section(
    "Switchyard writes the deliveries to a topic, which other consumers read.",
    {
      id: idSetting,
      name: required(
        integrationName,
        "Name of the destination in the `integrations` of calls. Case-sensitive.",
      ),
      ...commonSettings,
    },
    (values): WrittenDestination => {
      return { ...values, kind: "topic", isAttempted: false, getsDeletions: false };
    },
  ),
  plain: (settings) => settings,
  warnings: () => [],
  whenDisabled: "calls to it are skipped and not delivered later",
  attempts: null,
};
