package designs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/js"
)

// listedRow is a row for a list function that is tried.
type listedRow struct {
	key []byte // of compat/collate: the order in the view
	id  string
	row []byte // as the function gets it
}

// gather makes the rows that a list function gets of a document: those of a view of the design
// document, or the one that _all_docs has with include_docs.
func (t *trial) gather(ctx context.Context, id string, doc []byte) error {
	if t.view == "" {
		v, err := ejson.Parse(doc)
		if err != nil {
			return err
		}
		key := ejson.AppendString(nil, id)
		b := append(append([]byte(`{"id":`), key...), `,"key":`...)
		b = ejson.AppendString(append(append(b, key...), `,"value":{"rev":`...), textOf(v, "_rev"))
		b = append(append(append(b, `},"doc":`...), doc...), '}')
		// Ids are compared byte by byte, unlike keys of views.
		t.listed = append(t.listed, listedRow{id: id, row: b})
		return nil
	}
	before := len(t.rows)
	if err := t.mapped(ctx, id, doc); err != nil {
		return err
	}
	for _, row := range t.rows[before:] {
		v, err := ejson.Parse(row.Key)
		if err != nil {
			return err
		}
		b := ejson.AppendString([]byte(`{"id":`), id)
		b = append(append(append(b, `,"key":`...), row.Key...), `,"value":`...)
		b = append(append(b, row.Value...), '}')
		t.listed = append(t.listed, listedRow{key: collate.AppendKey(nil, v), id: id, row: b})
	}
	return nil
}

// list calls the list function with all rows, in their order, and appends what it answers, or its
// error. What it has answered before an error is told, too.
func (t *trial) list() error {
	slices.SortStableFunc(t.listed, func(a, b listedRow) int {
		return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
	})
	rows := make([][]byte, len(t.listed))
	for i := range t.listed {
		rows[i] = t.listed[i].row
	}
	head := strconv.AppendInt([]byte(`{"total_rows":`), int64(len(rows)), 10)
	said := &listSaid{rows: rows, most: trialBytes - len(t.answer)}
	err := t.Design.List(t.c.Context(), t.name, append(head, `,"offset":0}`...), t.req,
		js.ListIO{Rows: said.next, Output: said.output})
	if errors.Is(err, errTrialSize) {
		return errTrialSize
	}
	t.answer = ejson.AppendString(append(t.answer, `,"list":{"body":`...), said.text.String())
	if said.response != nil {
		t.answer = append(append(t.answer, `,"response":`...), said.response...)
	}
	if err != nil {
		var e *compat.Error
		if !errors.As(documents.FunctionError(err), &e) {
			return err
		}
		t.answer = ejson.AppendString(append(t.answer, `,"error":`...), e.Word())
		t.answer = e.AppendReason(append(t.answer, `,"reason":`...))
	}
	t.answer = append(t.answer, '}')
	return nil
}

// listSaid is the other side of a list function that is tried: it gives the rows once, and keeps
// what the function says.
type listSaid struct {
	rows     [][]byte
	most     int // bytes of what it keeps
	text     strings.Builder
	response []byte // nil: the function has set none
}

// next is js.ListIO's Rows.
func (l *listSaid) next() ([][]byte, error) {
	rows := l.rows
	l.rows = nil
	return rows, nil
}

// output is js.ListIO's Output.
func (l *listSaid) output(message ejson.Value) error {
	chunks, head, err := listMessage(message)
	if err != nil {
		return err
	}
	if head.Kind() == ejson.Object {
		l.response = head.AppendJSON(nil)
	}
	text, ok := compat.IOText(chunks)
	l.text.WriteString(text)
	switch {
	case !ok:
		return brokenList{compat.ErrBadArg}
	case l.text.Len()+len(l.response) > l.most:
		return errTrialSize
	}
	return nil
}
