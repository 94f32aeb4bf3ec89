package functions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server/call"
)

// letterRows are the rows of dead letters: messages of a function that could not be delivered.
func letterRows(h *Handlers) []call.Route {
	all := base + "/functions/{name}/dead_letters"
	one := func(answer recordHandler) call.Handler {
		return func(c *call.Call) error {
			r, err := h.byPath(c)
			if err != nil {
				return err
			}
			return answer(h, c, r)
		}
	}
	return []call.Route{
		newRow(all, methods{http.MethodGet: one(getLetters), http.MethodDelete: one(deleteLetters)},
			"GET, DELETE: messages of a function that could not be delivered."),
		newRow(all+"/replay", methods{http.MethodPost: one(replayLetters)},
			"POST: have dead letters delivered again."),
		newRow(all+"/{id}", methods{http.MethodGet: one(getLetter), http.MethodDelete: one(deleteLetter)},
			"GET, DELETE: one dead letter."),
		newRow(all+"/{id}/replay", methods{http.MethodPost: one(replayLetter)},
			"POST: have one dead letter delivered again."),
	}
}

const (
	// letterSegment is where the id of a dead letter is in paths, behind that of dead_letters.
	letterSegment = nameSegment + 2
	// usualLetters and mostLetters are how many dead letters a list has, without and with limit.
	usualLetters, mostLetters = 100, 1000
)

// getLetters: GET /functions/{name}/dead_letters.
func getLetters(h *Handlers, c *call.Call, r *registry.Record) error {
	most := usualLetters
	if text, ok := c.Query.First("limit"); ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostLetters {
			return definition.Errorf(definition.CodeInvalidRequest, "limit must be from 1 to %d", mostLetters)
		}
		most = n
	}
	behind, _ := c.Query.First("after")
	destination, _ := c.Query.First("destination")
	list, err := h.engine.DeadLetters(c.Context(), r, behind, destination, most)
	if err != nil {
		return err
	}
	return show(c, list)
}

// getLetter: GET /functions/{name}/dead_letters/{id}.
func getLetter(h *Handlers, c *call.Call, r *registry.Record) error {
	letter, err := h.engine.DeadLetter(c.Context(), r, c.Segment(letterSegment))
	if err != nil {
		return err
	}
	if letter == nil {
		return noLetter(c)
	}
	return show(c, letter)
}

func noLetter(c *call.Call) error {
	return definition.Errorf(definition.CodeNotFound, "There is no dead letter %s", c.Segment(letterSegment))
}

// deleteLetter: DELETE /functions/{name}/dead_letters/{id}.
func deleteLetter(h *Handlers, c *call.Call, r *registry.Record) error {
	n, err := h.engine.DeleteDeadLetters(c.Context(), r, outbox.Choice{IDs: []string{c.Segment(letterSegment)}})
	if err == nil && n == 0 {
		err = noLetter(c)
	}
	return changed(c, "deleted", n, err)
}

// replayLetter: POST /functions/{name}/dead_letters/{id}/replay.
func replayLetter(h *Handlers, c *call.Call, r *registry.Record) error {
	n, err := h.engine.ReplayDeadLetters(c.Context(), r, outbox.Choice{IDs: []string{c.Segment(letterSegment)}})
	if err == nil && n == 0 {
		err = noLetter(c)
	}
	return changed(c, "replayed", n, err)
}

// deleteLetters: DELETE /functions/{name}/dead_letters, all or those of a destination.
func deleteLetters(h *Handlers, c *call.Call, r *registry.Record) error {
	destination, _ := c.Query.First("destination")
	n, err := h.engine.DeleteDeadLetters(c.Context(), r, outbox.Choice{Destination: destination})
	return changed(c, "deleted", n, err)
}

// replayLetters: POST /functions/{name}/dead_letters/replay. The body may be empty, or say which: those
// of a destination, or those of some ids.
func replayLetters(h *Handlers, c *call.Call, r *registry.Record) error {
	text, err := body(c)
	if err != nil {
		return err
	}
	var which struct {
		IDs         []string `json:"ids"`
		Destination string   `json:"destination"`
	}
	if len(text) > 0 && json.Unmarshal(text, &which) != nil {
		return definition.Errorf(definition.CodeUnmarshal, "The body must be an object with destination or ids")
	}
	n, err := h.engine.ReplayDeadLetters(c.Context(), r, outbox.Choice(which))
	return changed(c, "replayed", n, err)
}

// changed answers a request that has changed so many dead letters.
func changed(c *call.Call, what string, n int, err error) error {
	if err != nil {
		return err
	}
	return show(c, struct {
		envelope
		Count int `json:"count"`
	}{envelope{Info: fmt.Sprintf("Dead letters %s: %d", what, n)}, n})
}
