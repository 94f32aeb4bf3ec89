package js

import (
	"context"

	"github.com/settee-db/settee/compat/ejson"
)

// ListIO is the other side of a list function.
type ListIO struct {
	// Output takes a message of the function, an array: "start" with chunks and the head of the
	// response, "chunks" or "end" with chunks and perhaps another head. An error ends the
	// conversation.
	Output func(message ejson.Value) error
	// Rows gives rows of the view as JSON objects; none at the end. An error ends the conversation.
	Rows func() ([][]byte, error)
}

// List runs a list function: it reads rows as it likes and writes messages meanwhile.
func (d *Design) List(ctx context.Context, name string, head, req []byte, io ListIO) error {
	var e encoder
	e.b = append(e.b, d.key[:]...)
	e.string(name)
	e.bytes(head)
	e.bytes(req)
	if err := checkSize(e.b); err != nil {
		return err
	}
	output := func(payload []byte) error {
		v, err := parseReply(payload)
		if err != nil {
			return err
		}
		return io.Output(v)
	}
	r := d.request(commandList, e.b)
	r.chunk = func(payload []byte) error {
		messages := decoder{b: payload}
		for len(messages.b) > 0 {
			if err := output(messages.bytes()); err != nil {
				return err
			}
		}
		return messages.err
	}
	r.answer = func([]byte) ([]byte, error) {
		rows, err := io.Rows()
		var e encoder
		e.list(rows)
		return e.b, err
	}
	reply, err := d.pool.do(ctx, r)
	if err != nil {
		return err
	}
	return output(reply)
}
