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
		call.Row("*", "/{db}/_design/{name}/_show", call.Member, showFunction,
			"Needs the name of a function.", call.Reads),
		call.Row("*", "/{db}/_design/{name}/_show/{show}", call.Member, showFunction,
			"A show function without document.", call.Reads),
		call.Row("*", "/{db}/_design/{name}/_show/{show}/{id...}", call.Member, showFunction,
			"A document through a show function.", call.Reads),
		call.Row("*", "/{db}/_design/{name}/_list", call.Member, h.listFunction,
			"Needs the names of a function and a view.", call.Heavy|call.Reads),
		call.Row("*", "/{db}/_design/{name}/_list/{list}", call.Member, h.listFunction,
			"Needs the name of a view.", call.Heavy|call.Reads),
		call.Row("*", "/{db}/_design/{name}/_list/{list}/{view...}", call.Member, h.listFunction,
			"A view through a list function.", call.Heavy|call.Reads),
		call.Row("*", "/{db}/_design/{name}/_update", call.Member, updateFunction, "Needs the name of a function."),
		call.Row("*", "/{db}/_design/{name}/_update/{update}", call.Member, updateFunction,
			"An update function without document."),
		call.Row("*", "/{db}/_design/{name}/_update/{update}/{id...}", call.Member, updateFunction,
			"An update function on a document."),
		call.Row("*", "/{db}/_design/{name}/_rewrite", call.Member, rewriteRequest,
			"The same as the empty path.", call.Reads),
		call.Row("*", "/{db}/_design/{name}/_rewrite/{path...}", call.Member, rewriteRequest,
			"Rewritten paths.", call.Reads),
		call.Row("POST", "/{db}/_design_test", call.DatabaseAdmin, testDesign,
			"Functions of a design document that is not stored, with documents of the database (extension).",
			call.Heavy|call.Reads),
	}
}
