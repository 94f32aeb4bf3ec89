package call

import "github.com/settee-db/settee/compat"

// ForUsers says what a row below /{db} answers, in a database with access for each document, to
// those who are none of its administrators. The zero value refuses them: a row that nobody has
// thought about opens nothing.
type ForUsers struct {
	// Open lets the handler answer, which sees no documents but the user's.
	Open bool
	// Text is for the manual: what the handler answers, or why nobody but administrators is answered.
	Text string
}

// What rows that are open answer.
var (
	// OwnDocuments is for answers that are those of a database with the user's documents alone.
	OwnDocuments = ForUsers{Open: true, Text: "own documents"}
	// OwnRows is for views: those that are kept by principal answer as a database with the user's
	// documents alone, the handler refuses others.
	OwnRows = ForUsers{Open: true, Text: "own documents, of views with access; else 403"}
	// NoDocuments is for answers that depend on no document.
	NoDocuments = ForUsers{Open: true, Text: "as in other databases"}
)

// ForAdmins refuses users, for a reason that the answer tells: a sentence's end after "only its
// administrators: ".
func ForAdmins(why string) ForUsers { return ForUsers{Text: why} }

// refusal is the error of a row that is not open.
func (u ForUsers) refusal() error {
	reason := "This database has access for each document, and answers this to its administrators alone"
	if u.Text != "" {
		reason += ": " + u.Text
	}
	return compat.NewError(compat.KindForbidden, reason+".")
}

// refuseUsers refuses what a row does not answer to those who see only some of the documents.
func (c *Call) refuseUsers(r *Route) error {
	if r.Users.Open {
		return nil
	}
	some, err := c.Docs.Access().SeesSome(c.Context())
	if err != nil || !some {
		return err
	}
	return r.Users.refusal()
}
