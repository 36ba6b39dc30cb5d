import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.ChangesApi;
import org.openapitools.client.api.DocumentationApi;
import org.openapitools.client.api.NotesApi;

/** What the client with `java.net.http` does in its own way. */
class Library {
  /** Whether it sends null for a title or a body that was never set. */
  final boolean sendsNull = false;
  final ApiClient client = new ApiClient();
  final NotesApi notes;
  final ChangesApi changes;
  final DocumentationApi documentation;

  Library(String url) {
    client.updateBaseUri(url);
    notes = new NotesApi(client);
    changes = new ChangesApi(client);
    documentation = new DocumentationApi(client);
  }

  String write(Object model) throws Exception {
    return client.getObjectMapper().writeValueAsString(model);
  }

  <T> T read(String json, Class<T> model) throws Exception {
    return client.getObjectMapper().readValue(json, model);
  }

  int status(Exception error) {
    return ((ApiException) error).getCode();
  }

  String body(Exception error) {
    return ((ApiException) error).getResponseBody();
  }
}
