package designs

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for functions of design documents.
func Routes() []call.Route {
	return []call.Route{
		{Methods: "*", Pattern: "/{db}/_design/{name}/_show", Access: call.Member, Handle: showFunction,
			Reads: true, Doc: "Needs the name of a function."},
		{Methods: "*", Pattern: "/{db}/_design/{name}/_show/{show}", Access: call.Member, Handle: showFunction,
			Reads: true, Doc: "A show function without document."},
		{Methods: "*", Pattern: "/{db}/_design/{name}/_show/{show}/{id...}", Access: call.Member, Handle: showFunction,
			Reads: true, Doc: "A document through a show function."},
		{Methods: "*", Pattern: "/{db}/_design/{name}/_list", Access: call.Member, Handle: listFunction, Heavy: true,
			Reads: true, Doc: "Needs the names of a function and a view."},
		{
			Methods: "*",
			Pattern: "/{db}/_design/{name}/_list/{list}",
			Access:  call.Member,
			Reads:   true,
			Handle:  listFunction,
			Heavy:   true,
			Doc:     "Needs the name of a view.",
		},
		{
			Methods: "*",
			Pattern: "/{db}/_design/{name}/_list/{list}/{view...}",
			Access:  call.Member,
			Reads:   true,
			Handle:  listFunction,
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
