package selector_test

import (
	"fmt"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
)

// Whether a document passes a selector needs no store.
func ExampleSelector_Match() {
	v, err := ejson.Parse([]byte(`{"colour":"green","seats":{"$gte":2}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := selector.ParseSelector(v)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{`{"colour":"green","seats":3}`, `{"colour":"green"}`} {
		doc, err := ejson.Parse([]byte(text))
		if err != nil {
			fmt.Println(err)
			return
		}
		passes, err := s.Match(doc)
		fmt.Println(passes, err)
	}
	// Output:
	// true <nil>
	// false <nil>
}
