/** A destination of type topic: route writes its deliveries, and other consumers read them. */

import type { WrittenDestination } from "../../domain/destination.ts";
import { required, section } from "../../settings/setting.ts";
import { commonSettings, idSetting, integrationName } from "../common-settings.ts";
import type { DestinationType } from "../port.ts";

export const topic: DestinationType<WrittenDestination> = {
  settings: section(
    "Only its topic is written; others consume it.",
    {
      id: idSetting,
      name: required(integrationName, "The integration name; must be given for a topic."),
      ...commonSettings,
    },
    (values): WrittenDestination => {
      return { ...values, kind: "topic", isAttempted: false, getsDeletions: false };
    },
  ),
  plain: (settings) => settings,
  warnings: () => [],
  whenDisabled: "calls to it are left out, also for later",
  attempts: null,
};
