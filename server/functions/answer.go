package functions

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/kv"
)

// envelope is the answer of a request that changes something, or one in a list of them.
type envelope struct {
	Code     definition.Code `json:"code"`
	Name     string          `json:"name,omitempty"` // of an error
	Info     any             `json:"info"`
	Warnings []string        `json:"warning_info,omitempty"`
}

// done answers a request that changed something.
func done(c *call.Call, info string, warnings ...string) error {
	return show(c, envelope{Info: info, Warnings: warnings})
}

// show answers with a value.
func show(c *call.Call, value any) error { return answer(c, definition.CodeOK, value) }

// answer is the one way out but for texts.
func answer(c *call.Call, code definition.Code, value any) error {
	body, err := definition.JSON(value)
	if err != nil {
		return err
	}
	c.SetHeader("Status", strconv.Itoa(int(code)))
	return c.JSON(code.Status(), body)
}

// text answers with a body that is not JSON, such as code or a log.
func text(c *call.Call, contentType string, body []byte) error {
	c.SetHeader("Status", "0")
	c.SetHeader("Content-Type", contentType)
	return c.Bytes(http.StatusOK, body)
}

// fail answers an error in its envelope. What says that the client is gone, or that the store or another
// node does not work, goes the way of all requests.
func fail(c *call.Call, err error) error {
	if err == nil {
		return nil
	}
	if c.Context().Err() != nil || errors.Is(err, call.ErrClientGone) {
		return err
	}
	for _, elsewhere := range []error{
		kv.ErrFull, kv.ErrUnavailable, kv.ErrTooOld, kv.ErrFormat, compat.KindServiceUnavailable,
	} {
		if errors.Is(err, elsewhere) {
			return err
		}
	}
	e := toError(err)
	if e.Code == definition.CodeInternal {
		c.Env.Log.Error("internal error", "request", c.ID, "method", c.Request.Method, "path", c.Request.RequestURI,
			"error", err)
	}
	return answer(c, e.Code, e)
}

// toError is what clients are told of an error: those of bodies and databases have codes of their
// own.
func toError(err error) *definition.Error {
	if e, ok := errors.AsType[*definition.Error](err); ok {
		return e
	}
	if e, ok := compat.AsError(err); ok {
		if errors.Is(e, compat.KindNoDatabase) {
			return definition.Errorf(definition.CodeBucketMissing, "%s", e.Reason)
		}
		return definition.Errorf(definition.CodeReadRequest, "%s", e.Reason)
	}
	return definition.AsError(err)
}

// row is the answer to one of several functions: an error's description is its info.
func row(err error, info string, warnings []string) envelope {
	if err == nil {
		return envelope{Info: info, Warnings: warnings}
	}
	e := toError(err)
	return envelope{Code: e.Code, Name: e.Code.Name(), Info: e.Description}
}

// maxBody is how many bytes a request may have: some hundred functions.
const maxBody = 64 << 20

// body reads the request's body.
func body(c *call.Call) ([]byte, error) {
	return c.ReadBodyWithin(min(maxBody, c.Settings.MaxRequestSize))
}
