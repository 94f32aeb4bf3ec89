package n1ql

import (
	"errors"
	"fmt"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// ErrorKind says why a statement could not be run.
type ErrorKind uint8

// The kinds of an Error.
const (
	KindInvalid   ErrorKind = iota // a parameter or a value that does not fit the statement
	KindKeyspace                   // there is no such keyspace
	KindForbidden                  // the keyspace may not be used like that
	KindDuplicate                  // INSERT of a document that exists
	KindConflict                   // the document was changed meanwhile, again and again
	KindMissing                    // the document is not there any more
	KindLimit                      // the statement needs more memory than it may have
	KindUnindexed                  // no index serves Find
	KindUnsorted                   // Find has no index in this order; the statement is then sorted in memory
)

// Error is why a statement could not be run. Keyspaces return it too; other errors of theirs are
// passed on as they are.
type Error struct {
	Kind     ErrorKind
	Message  string
	Keyspace string // "" if none is concerned
	ID       string // of the document, "" if none is concerned
}

func (e *Error) Error() string { return e.Message }

func invalidf(format string, args ...any) error {
	return &Error{Kind: KindInvalid, Message: fmt.Sprintf(format, args...)}
}

func limitf(format string, args ...any) error {
	return &Error{Kind: KindLimit, Message: fmt.Sprintf(format, args...)}
}

// limited makes of a value that would be too large an Error.
func limited(err error) error {
	if errors.Is(err, datum.ErrTooLarge) {
		return limitf("a value of the statement is larger than %d bytes", datum.MaxValueSize)
	}
	return err
}
