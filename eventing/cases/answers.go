package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
)

// Answer is what a server answers to a request. Body is its JSON, or a text as it is. Error is why
// there is no answer.
type Answer struct {
	Status  int               `json:"status"` // 0: 200
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
	Error   string            `json:"error"`
}

// call is a request that a function has made.
type call struct {
	Binding string          `json:"binding"`
	Method  string          `json:"method"`
	URL     string          `json:"url"`
	Body    json.RawMessage `json:"body,omitempty"`
}

// servers answer the requests of a case, and keep them. They are safe for concurrent use.
type servers struct {
	mu      sync.Mutex
	answers map[string][]Answer
	calls   []call
}

// answer gives the next answer of a binding (eventing.Options.Answer).
func (s *servers) answer(binding string, r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call{binding, r.Method, r.URL.String(), jsonOf(body)})
	if len(s.answers[binding]) == 0 {
		return nil, errors.New("the case has no more answers of " + binding)
	}
	a := s.answers[binding][0]
	s.answers[binding] = s.answers[binding][1:]
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	response := &http.Response{
		StatusCode: max(a.Status, http.StatusOK), Header: http.Header{}, Request: r,
	}
	var text string
	if json.Unmarshal(a.Body, &text) == nil {
		response.Header.Set("Content-Type", "text/plain")
		a.Body = []byte(text)
	} else {
		response.Header.Set("Content-Type", "application/json")
	}
	for name, value := range a.Headers {
		response.Header.Set(name, value)
	}
	response.Body = io.NopCloser(bytes.NewReader(a.Body))
	return response, nil
}

// jsonOf is a body as JSON: as it is where it is some, else as a text; nil for none.
func jsonOf(body []byte) json.RawMessage {
	if len(body) == 0 || json.Valid(body) {
		return body
	}
	text, _ := json.Marshal(string(body)) // texts always can be
	return text
}
