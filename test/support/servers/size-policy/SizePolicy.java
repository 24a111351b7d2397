import java.util.Map;

import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.AlterConfigPolicy;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/**
 * Refuses topics as managed clusters do. The limits of a prefix are properties of the Java machine, such
 * as policy.a.retention.ms for the topics that begin with "a.".
 */
public class SizePolicy {
    private static Long most(String topic, String key) {
        return Long.getLong("policy." + topic.split("\\.")[0] + "." + key);
    }

    private static void check(String topic, Map<String, String> configs) {
        for (String key : new String[] {"max.message.bytes", "retention.ms"}) {
            Long most = most(topic, key);
            String value = configs.get(key);
            if (value == null || most == null || Long.parseLong(value) <= most) continue;
            throw new PolicyViolationException(
                key + " is " + value + " and must be at most " + most);
        }
    }

    public static class OfNew implements CreateTopicPolicy {
        @Override public void validate(RequestMetadata topic) {
            Long most = most(topic.topic(), "partitions");
            if (most != null && topic.numPartitions() != null && topic.numPartitions() > most) {
                throw new PolicyViolationException("at most " + most + " partitions");
            }
            check(topic.topic(), topic.configs());
        }
        @Override public void configure(Map<String, ?> configs) {}
        @Override public void close() {}
    }

    public static class OfChanges implements AlterConfigPolicy {
        @Override public void validate(RequestMetadata change) {
            check(change.resource().name(), change.configs());
        }
        @Override public void configure(Map<String, ?> configs) {}
        @Override public void close() {}
    }
}
