package server

import (
	"errors"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/views"
)

// memberLanguage is the language "member" of the tests: the map function "k v" emits the members k and v of documents
// that have k, and fails for documents whose k is the text "bad".
type memberLanguage struct{}

type memberMapper struct{ key, value string }

func (memberLanguage) Compile(def views.Definition) (views.Mapper, error) {
	source, err := ejson.Parse(def.Map)
	if err != nil {
		return nil, err
	}
	key, value, _ := strings.Cut(source.Text(), " ")
	return memberMapper{key, value}, nil
}

func (m memberMapper) Map(doc *storage.Document, emit func(key, value []byte)) error {
	body, err := ejson.Parse(doc.Body)
	if err != nil {
		return err
	}
	key, ok := body.Get(m.key)
	if !ok {
		return nil
	}
	if key.TextIs("bad") {
		return errors.New("a bad key")
	}
	value, ok := body.Get(m.value)
	if !ok {
		emit(key.AppendJSON(nil), []byte("null"))
		return nil
	}
	emit(key.AppendJSON(nil), value.AppendJSON(nil))
	return nil
}
