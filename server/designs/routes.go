package designs

import (
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/views"
)

// Handlers serve functions of design documents.
type Handlers struct{ views *views.Views }

// New makes the handlers; list functions get rows of the views.
func New(v *views.Views) *Handlers { return &Handlers{views: v} }

// Routes are the rows of the route table for functions of design documents.
func (h *Handlers) Routes() []call.Route {
	return []call.Route{
		{Methods: "*", Pattern: "/{db}/_design/{name}/_show", Access: call.Member, Handle: showFunction,
			Reads: true, Doc: "Needs the name of a function."},
		{Methods: "*", Pattern: "/{db}/_design/{name}/_show/{show}", Access: call.Member, Handle: showFunction,
			Reads: true, Doc: "A show function without document."},
		{Methods: "*", Pattern: "/{db}/_design/{name}/_show/{show}/{id...}", Access: call.Member, Handle: showFunction,
			Reads: true, Doc: "A document through a show function."},
		{Methods: "*", Pattern: "/{db}/_design/{name}/_list", Access: call.Member, Handle: h.listFunction, Heavy: true,
			Reads: true, Doc: "Needs the names of a function and a view."},
		{
			Methods: "*",
			Pattern: "/{db}/_design/{name}/_list/{list}",
			Access:  call.Member,
			Reads:   true,
			Handle:  h.listFunction,
			Heavy:   true,
			Doc:     "Needs the name of a view.",
		},
		{
			Methods: "*",
			Pattern: "/{db}/_design/{name}/_list/{list}/{view...}",
			Access:  call.Member,
			Reads:   true,
			Handle:  h.listFunction,
			Heavy:   true,
			Doc:     "A view through a list function.",
		},
		{Methods: "*", Pattern: "/{db}/_design/{name}/_update", Access: call.Member, Handle: updateFunction,
			Doc: "Needs the name of a function."},
		{Methods: "*", Pattern: "/{db}/_design/{name}/_update/{update}", Access: call.Member, Handle: updateFunction,
			Doc: "An update function without document."},
		{
			Methods: "*",
			Pattern: "/{db}/_design/{name}/_update/{update}/{id...}",
			Access:  call.Member,
			Handle:  updateFunction,
			Doc:     "An update function on a document.",
		},
		{Methods: "*", Pattern: "/{db}/_design/{name}/_rewrite", Access: call.Member, Handle: rewriteRequest,
			Reads: true, Doc: "The same as the empty path."},
		{Methods: "*", Pattern: "/{db}/_design/{name}/_rewrite/{path...}", Access: call.Member, Handle: rewriteRequest,
			Reads: true, Doc: "Rewritten paths."},
	}
}
