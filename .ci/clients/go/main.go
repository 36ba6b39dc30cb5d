// The client that oapi-codegen generates, used against the service whose URL is the argument.
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"clients/notes"
)

const large = 5_000_000_000

func main() {
	client, err := notes.NewClientWithResponses(os.Args[1])
	check(err == nil, err)
	ctx := context.Background()

	list, err := client.ListNotesWithResponse(ctx, &notes.ListNotesParams{})
	check(err == nil && list.JSON200 != nil, err, list)
	// With fields, an answer may lack any member.
	check(*list.JSON200.Items[0].Id == large, list.JSON200)

	input := notes.NoteInput{Title: "from Go", Body: "body"}
	created, err := client.CreateNoteWithResponse(ctx, &notes.CreateNoteParams{}, input)
	check(err == nil && created.JSON201 != nil, err, created)
	check(created.JSON201.Id > large && created.JSON201.Title == input.Title, created.JSON201)

	read, err := client.GetNoteWithResponse(ctx, created.JSON201.Id, &notes.GetNoteParams{})
	check(err == nil && read.JSON200 != nil && *read.JSON200.Title == input.Title, err, read)

	tag, title := read.HTTPResponse.Header.Get("etag"), "changed from Go"
	patch := func() *notes.PatchNoteResponse {
		params, change := &notes.PatchNoteParams{IfMatch: &tag}, notes.NotePatch{Title: &title}
		patched, err := client.PatchNoteWithResponse(ctx, created.JSON201.Id, params, change)
		check(err == nil, err)
		return patched
	}
	patched := patch()
	check(patched.JSON200 != nil && patched.JSON200.Title == title, patched)
	check(patch().ApplicationproblemJSON412 != nil)

	missing, err := client.GetNoteWithResponse(ctx, 42, &notes.GetNoteParams{})
	check(err == nil && missing.ApplicationproblemJSON404 != nil, err, missing)
	check(missing.ApplicationproblemJSON404.Status == 404, missing)

	name, include := "Go/Küche & Bad 100%#1?.md", notes.NoteInclude{"name"}
	put, err := client.PutNamedNoteWithResponse(ctx, name, &notes.PutNamedNoteParams{}, input)
	check(err == nil && put.JSON201 != nil, err, put)
	named, err := client.GetNamedNoteWithResponse(ctx, name, &notes.GetNamedNoteParams{Include: &include})
	check(err == nil && named.JSON200 != nil && *named.JSON200.Name == name, err, named)

	expect := func(_ context.Context, request *http.Request) error {
		request.Header.Set("expect", "a miracle")
		return nil
	}
	other, err := client.GetNoteWithResponse(ctx, large, &notes.GetNoteParams{}, expect)
	check(err == nil && other.ApplicationproblemJSONDefault != nil, err, other)
	check(other.ApplicationproblemJSONDefault.Status == 417, other)
}

func check(ok bool, seen ...any) {
	if !ok {
		log.Fatalln(seen...)
	}
}
