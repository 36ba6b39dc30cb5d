// A client that openapi-generator generates, used against the service whose URL is the argument.
import java.util.List;
import org.openapitools.client.api.NotesApi;
import org.openapitools.client.model.NoteInput;
import org.openapitools.client.model.NoteList;
import org.openapitools.client.model.NotePatch;
import org.openapitools.client.model.Problem;
import org.openapitools.client.model.ValidationProblem;

class Client {
  static final long LARGE = 5_000_000_000L;

  static Library library;
  static NotesApi notes;

  public static void main(String[] args) throws Exception {
    library = new Library(args[0]);
    notes = library.notes;
    var changes = library.changes;
    var documentation = library.documentation;
    var start = changes.listChanges(null, null, null, null, null, null, null, null).getNext();

    var spaced = notesAfter(0).getItems().get(0);
    check(spaced.getId() == LARGE && spaced.getTitle().equals(" starts with a space"), spaced);

    // Nothing is set but the required members.
    var input = new NoteInput().title("from Java").body("body");
    System.out.println("POST sends " + library.write(input));
    var plain = notes.createNote(input, null, null, null, null);
    check(plain.getId() > LARGE && plain.getTitle().equals("from Java"), plain);
    var id = notes.createNote(input.addTagsItem("java"), null, null, null, null).getId();
    var tag = notes.getNote(id, null, List.of("etag"), null, null, null, null).getEtag();

    var patch = new NotePatch().title("changed from Java");
    System.out.println("PATCH sends " + library.write(patch));
    if (library.sendsNull) {
      Call withoutBody = () -> notes.patchNote(id, patch, null, tag, null);
      var refused = problem(422, withoutBody, ValidationProblem.class).getErrors();
      check(refused.size() == 1 && refused.get(0).getPointer().equals("#/body"), refused);
      patch.body("body");
      System.out.println("422 at #/body; with the body, PATCH sends " + library.write(patch));
    }
    var patched = notes.patchNote(id, patch, null, tag, null);
    check(patched.getTitle().equals("changed from Java"), patched);
    var read = notes.getNote(id, null, List.of("tags"), null, null, null, null);
    check(read.getTags().equals(List.of("java")) && read.getBody().equals("body"), read);
    check(notesAfter(LARGE).getItems().size() >= 2, "the notes after the first");

    var outdated = problem(412, () -> notes.patchNote(id, patch, null, tag, null), Problem.class);
    check(outdated.getType().getPath().equals("/problems/precondition-failed"), outdated);
    problem(404, () -> notes.getNote(42L, null, null, null, null, null, null), Problem.class);
    var spaces = new NoteInput().title(" ").body("b");
    Call blank = () -> notes.createNote(spaces, null, null, null, null);
    var violation = problem(422, blank, ValidationProblem.class).getErrors().get(0);
    check(violation.getPointer().equals("#/title"), violation);
    Call zero = () -> changes.listChanges(null, 0, null, null, null, null, null, null);
    violation = problem(422, zero, ValidationProblem.class).getErrors().get(0);
    check(violation.getIn().getValue().equals("query"), violation);

    var page = changes.listChanges(start, null, null, null, null, null, List.of("record"), null);
    check(page.getItems().get(0).getNoteId().equals(plain.getId()), page);
    check(documentation.listProblems().getItems().size() > 10, "the list of problems");
    check(documentation.getProblem("not-found").getStatus() == 404, "the problem not-found");
    check(documentation.getOpenapi().getOpenapi().startsWith("3.1"), "the contract");

    var name = "Java/K\u00fcche & Bad 100%#1?.md";
    var put = notes.putNamedNote(name, new NoteInput().title("a").body("b"), null, null, null, null);
    var named = notes.getNamedNote(name, null, List.of("name"), null, null, null, null);
    check(named.getId().equals(put.getId()) && named.getName().equals(name), named);
  }

  static NoteList notesAfter(long id) throws Exception {
    return notes.listNotes(
        null, null, null, id, null, null, null, null, null, null, null, null, null, null, null,
        null, null, null, null, null, null, null, null, null);
  }

  interface Call {
    void run() throws Exception;
  }

  /** Returns the problem with which the service answers the call. */
  static <T> T problem(int status, Call call, Class<T> type) throws Exception {
    try {
      call.run();
    } catch (Exception error) {
      check(library.status(error) == status, error);
      return library.read(library.body(error), type);
    }
    throw new AssertionError("there is no problem " + status);
  }

  static void check(boolean isRight, Object seen) {
    if (!isRight) throw new AssertionError(seen);
  }
}
