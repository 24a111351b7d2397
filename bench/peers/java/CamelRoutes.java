import org.apache.camel.Exchange;
import org.apache.camel.Message;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.component.kafka.KafkaConstants;
import org.apache.camel.main.Main;
import org.apache.kafka.common.header.Headers;

/** Apache Camel: a route per destination, with a consumer per partition and Camel's own redelivery. */
final class CamelRoutes extends RouteBuilder {
  public static void main(String[] args) throws Exception {
    Main camel = new Main();
    camel.configure().addRoutesBuilder(new CamelRoutes());
    camel.run();
  }

  @Override
  public void configure() {
    errorHandler(defaultErrorHandler().maximumRedeliveries(-1).redeliveryDelay(1_000));
    Webhook.routes().forEach(this::route);
  }

  private void route(String topic, String url) {
    String from =
        "kafka:%s?brokers=%s&groupId=%s%s&sessionTimeoutMs=%d&autoOffsetReset=earliest&consumersCount=3"
            .formatted(topic, Webhook.BROKERS, Webhook.GROUP, topic, Webhook.SESSION_TIMEOUT_MS);
    String bytes = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
    String to = "%s?responseTimeout=%d&maxTotalConnections=200&connectionsPerRoute=64";
    from(from + "&valueDeserializer=" + bytes)
        .process(CamelRoutes::prepare)
        .to(to.formatted(url, Webhook.TIMEOUT.toMillis()));
  }

  private static void prepare(Exchange exchange) {
    Message message = exchange.getMessage();
    String id = Webhook.messageId(message.getHeader(KafkaConstants.HEADERS, Headers.class));
    String signature = Webhook.signature(message.getBody(byte[].class));
    message.removeHeaders("*");
    message.setHeader("X-Switchyard-Message-Id", id);
    message.setHeader("X-Signature", signature);
    message.setHeader(Exchange.CONTENT_TYPE, "application/json");
    message.setHeader(Exchange.HTTP_METHOD, "POST");
  }
}
