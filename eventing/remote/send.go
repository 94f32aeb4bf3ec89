package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/js"
)

// Receipt is what a server says to a message.
type Receipt struct {
	Status int
	// Text is the begin of the answer, or why there was none.
	Text string
	// After is how long the server wants to be left alone, 0 if it does not say it.
	After time.Duration
}

// mostText is how much of an answer a Receipt has, in bytes.
const mostText = 300

// Send posts a message to the URL itself. Redirections are not followed, since a POST that follows
// one may become a GET without the message; their status is the answer. Status is 0 if there was no
// answer. Of the answer's body only the begin is read.
func (u *URL) Send(ctx context.Context, headers [][2]string, body []byte) Receipt {
	response, err := u.begin(ctx, &js.EventRequest{
		Method: http.MethodPost, Headers: headers, HasBody: true, Body: body,
	})
	if err != nil {
		seen := curlError(err)
		if e := new(js.EventError); errors.As(seen, &e) {
			return Receipt{Text: e.Desc}
		}
		return Receipt{Text: seen.Error()}
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, mostText)) // what came of it
	return Receipt{
		Status: response.StatusCode, Text: strings.ToValidUTF8(string(text), "\uFFFD"),
		After: retryAfter(response.Header.Get("Retry-After"), time.Now()),
	}
}

// retryAfter reads the header Retry-After: seconds, or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(max(0, min(seconds, 1<<30))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
