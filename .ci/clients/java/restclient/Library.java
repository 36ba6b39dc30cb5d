import org.openapitools.client.ApiClient;
import org.openapitools.client.api.ChangesApi;
import org.openapitools.client.api.DocumentationApi;
import org.openapitools.client.api.NotesApi;
import org.springframework.web.client.RestClientResponseException;

/** What the client with Spring does in its own way. */
class Library {
  /** Whether it sends null for a title or a body that was never set. */
  final boolean sendsNull = true;
  final ApiClient client;
  final NotesApi notes;
  final ChangesApi changes;
  final DocumentationApi documentation;

  Library(String url) {
    client = new ApiClient().setBasePath(url);
    notes = new NotesApi(client);
    changes = new ChangesApi(client);
    documentation = new DocumentationApi(client);
  }

  String write(Object model) throws Exception {
    return ApiClient.createDefaultMapper(null).writeValueAsString(model);
  }

  <T> T read(String json, Class<T> model) throws Exception {
    return ApiClient.createDefaultMapper(null).readValue(json, model);
  }

  int status(Exception error) {
    return ((RestClientResponseException) error).getStatusCode().value();
  }

  String body(Exception error) {
    return ((RestClientResponseException) error).getResponseBodyAsString();
  }
}
