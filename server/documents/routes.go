package documents

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for documents and attachments, one or many.
func Routes() []call.Route {
	return []call.Route{
		call.Row("POST", "/{db}", call.Member, postDoc, "New document."),
		call.Row("POST", "/{db}/_bulk_docs", call.Member, postBulkDocs, "Write several documents."),
		call.Row("POST", "/{db}/_bulk_get", call.Member, postBulkGet,
			"Read several documents and revisions.", call.Heavy|call.Reads),
		call.Row("POST", "/{db}/_missing_revs", call.Member, postMissingRevs,
			"Which revisions a database lacks (old form).", call.Reads),
		call.Row("POST", "/{db}/_revs_diff", call.Member, postRevsDiff,
			"Which revisions a database lacks.", call.Reads),
		call.Row("DELETE", "/{db}/{id}", call.Member, deleteDoc, "Delete a document."),
		call.Row("GET,HEAD", "/{db}/{id}", call.Member, getDoc, "Read a document."),
		call.Row("POST", "/{db}/{id}", call.Member, postForm, "Upload attachments from an HTML form."),
		call.Row("PUT", "/{db}/{id}", call.Member, putDoc, "Write a document."),
		call.Row("COPY", "/{db}/{id}", call.Member, copyDoc, "Copy a document."),
		call.Row("PATCH", "/{db}/{id}", call.Member, patchDoc,
			"Change parts of a document (extension).", call.Unlisted),
		call.Row("DELETE", "/{db}/{id}/{attachment...}", call.Member, deleteAttachment, "Delete an attachment."),
		call.Row("GET,HEAD", "/{db}/{id}/{attachment...}", call.Member, getAttachment, "Read an attachment."),
		call.Row("PUT", "/{db}/{id}/{attachment...}", call.Member, putAttachment, "Write an attachment."),
		call.Row("DELETE", "/{db}/_local/{name}", call.Member, deleteDoc, "Delete a local document."),
		call.Row("GET,HEAD", "/{db}/_local/{name}", call.Member, getDoc, "Read a local document."),
		call.Row("POST", "/{db}/_local/{name}", call.Member, postForm, "Refused as for documents."),
		call.Row("PUT", "/{db}/_local/{name}", call.Member, putDoc, "Write a local document."),
		call.Row("COPY", "/{db}/_local/{name}", call.Member, copyDoc, "Copy a local document."),
		call.Row("PATCH", "/{db}/_local/{name}", call.Member, patchDoc,
			"Change parts of a local document (extension).", call.Unlisted),
		call.Row("DELETE", "/{db}/_design/{name}", call.Member, deleteDoc, "Delete a design document."),
		call.Row("GET,HEAD", "/{db}/_design/{name}", call.Member, getDoc, "Read a design document."),
		call.Row("POST", "/{db}/_design/{name}", call.Member, postForm, "Upload attachments from an HTML form."),
		call.Row("PUT", "/{db}/_design/{name}", call.Member, putDoc, "Write a design document."),
		call.Row("COPY", "/{db}/_design/{name}", call.Member, copyDoc, "Copy a design document."),
		call.Row("PATCH", "/{db}/_design/{name}", call.Member, patchDoc,
			"Change parts of a design document (extension).", call.Unlisted),
		call.Row("DELETE", "/{db}/_design/{name}/{attachment...}", call.Member, deleteAttachment,
			"Delete an attachment of a design document."),
		call.Row("GET,HEAD", "/{db}/_design/{name}/{attachment...}", call.Member, getAttachment,
			"Read an attachment of a design document."),
		call.Row("PUT", "/{db}/_design/{name}/{attachment...}", call.Member, putAttachment,
			"Write an attachment of a design document."),
		call.Row("POST", "/{db}/_purge", call.ServerAdmin, postPurge, "Remove revisions without a trace."),
	}
}
