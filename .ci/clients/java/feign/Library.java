import feign.FeignException;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.ChangesApi;
import org.openapitools.client.api.DocumentationApi;
import org.openapitools.client.api.NotesApi;

/** What the client with Feign does in its own way. */
class Library {
  /** Whether it sends null for a title or a body that was never set. */
  final boolean sendsNull = true;
  final ApiClient client;
  final NotesApi notes;
  final ChangesApi changes;
  final DocumentationApi documentation;

  Library(String url) {
    client = new ApiClient().setBasePath(url);
    notes = client.buildClient(NotesApi.class);
    changes = client.buildClient(ChangesApi.class);
    documentation = client.buildClient(DocumentationApi.class);
  }

  String write(Object model) throws Exception {
    return client.getObjectMapper().writeValueAsString(model);
  }

  <T> T read(String json, Class<T> model) throws Exception {
    return client.getObjectMapper().readValue(json, model);
  }

  int status(Exception error) {
    return ((FeignException) error).status();
  }

  String body(Exception error) {
    return ((FeignException) error).contentUTF8();
  }
}
