// The client that openapi-generator generates, used against the service whose URL is the argument.
import org.openapitools.client.apis.ChangesApi
import org.openapitools.client.apis.DocumentationApi
import org.openapitools.client.apis.NotesApi
import org.openapitools.client.infrastructure.ClientError
import org.openapitools.client.infrastructure.ClientException
import org.openapitools.client.infrastructure.Serializer
import org.openapitools.client.models.NoteInput
import org.openapitools.client.models.NotePatch
import org.openapitools.client.models.Problem
import org.openapitools.client.models.ValidationProblem

const val LARGE = 5_000_000_000

fun main(args: Array<String>) {
    val notes = NotesApi(args[0])
    val changes = ChangesApi(args[0])
    val documentation = DocumentationApi(args[0])
    val start = changes.listChanges().next

    val spaced = notes.listNotes(after = 0).items[0]
    check(spaced.id == LARGE && spaced.title == " starts with a space") { spaced }

    // Nothing is set but the required members.
    val plain = notes.createNote(NoteInput("from Kotlin", "body"))
    check(plain.id > LARGE && plain.title == "from Kotlin") { plain }
    val input = NoteInput("tagged", "body", tags = setOf("kotlin"))
    val tagged = notes.createNoteWithHttpInfo(input, null, null, null, null)
    val tag = tagged.headers["etag"]?.first()
    val id = notes.listNotes(tag = listOf("kotlin")).items[0].id!!

    val patch = NotePatch("changed from Kotlin")
    val patched = notes.patchNote(id, patch, ifMatch = tag)
    check(patched.title == "changed from Kotlin") { patched }
    val read = notes.getNote(id, include = listOf(NotesApi.IncludeGetNote.Tags))
    check(read.tags == listOf("kotlin") && read.body == "body") { read }

    val outdated = problem<Problem>(412) { notes.patchNote(id, patch, ifMatch = tag) }
    check(outdated.type.path == "/problems/precondition-failed") { outdated }
    problem<Problem>(404) { notes.getNote(42) }
    val blank = problem<ValidationProblem>(422) { notes.createNote(NoteInput(" ", "b")) }
    check(blank.errors[0].pointer == "#/title") { blank }
    val zero = problem<ValidationProblem>(422) { notes.listNotes(limit = 0) }
    check(zero.errors[0].field == "limit" && zero.errors[0].pointer == null) { zero }

    val record = listOf(ChangesApi.IncludeListChanges.Record)
    val page = changes.listChanges(start, include = record)
    check(page.items[0].noteId == plain.id) { page }
    check(documentation.listProblems().items.size > 10)
    check(documentation.getProblem("not-found").status == 404)
    check(documentation.getOpenapi().openapi.startsWith("3.1"))

    val name = "Kotlin/Küche & Bad 100%#1?.md"
    val put = notes.putNamedNote(name, NoteInput("named", "body"))
    val named = notes.getNamedNote(name, include = listOf(NotesApi.IncludeGetNamedNote.Name))
    check(named.id == put.id && named.name == name) { named }
}

/** Returns the problem with which the service answers the call. */
inline fun <reified T> problem(status: Int, call: () -> Unit): T {
    try {
        call()
    } catch (error: ClientException) {
        check(error.statusCode == status) { error }
        val body = (error.response as ClientError<*>).body as String
        return Serializer.moshi.adapter(T::class.java).fromJson(body)!!
    }
    error("there is no problem $status")
}
