package patterns_test

import (
	"fmt"
	"strings"

	"github.com/settee-db/settee/compat/patterns"
)

// A budget is for all patterns of one request. A pattern that is too large is refused before memory is
// taken for its program.
func ExampleBudget_Compile() {
	var budget patterns.Budget
	word, err := budget.Compile(`^[a-z]+$`)
	fmt.Println(word.Match([]byte("tea")), err)
	_, err = budget.Compile(strings.Repeat(`\w{1000}`, 500))
	fmt.Println(err)
	// Output:
	// true <nil>
	// regular expression is too large
}
