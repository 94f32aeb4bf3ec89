package script

import (
	"crypto/sha256"

	lru "github.com/hashicorp/golang-lru/v2"
)

// keptPrograms is how many programs a compiler keeps.
const keptPrograms = 512

// Compiler makes programs of the sources of functions and modules, and keeps those that were asked
// for last. Not safe for concurrent use.
type Compiler struct {
	maxCallStack int
	programs     *lru.Cache[[sha256.Size]byte, *Program]
	// Of the two languages, once a source in it has come.
	javaScript, coffeeScript *converter
}

// NewCompiler makes a compiler whose own functions, which parse sources, call each other up to so
// many times.
func NewCompiler(maxCallStack int) *Compiler {
	programs, _ := lru.New[[sha256.Size]byte, *Program](keptPrograms) // an error is for a size below 1 only
	return &Compiler{maxCallStack: maxCallStack, programs: programs}
}

// Function compiles the source of a function of a design document, in JavaScript or CoffeeScript.
// Why it is none is the program's refusal (Couch.compileFunction in share/server/util.js); an error
// says that the compiler is broken.
func (c *Compiler) Function(source string, coffee bool) (*Program, error) {
	at, made, language := &c.javaScript, newNormaliser, "javascript"
	if coffee {
		at, made, language = &c.coffeeScript, newCoffee, "coffeescript"
	}
	if *at == nil {
		var err error
		if *at, err = made(c.maxCallStack); err != nil {
			return nil, err
		}
	}
	return c.once(language, source, func() *Program {
		var p *Program
		if len(source) > mostPrinted && !coffee {
			p = compileLarge(source)
		}
		if p == nil {
			p = (*at).compile(source)
		}
		p.Source = source
		return p
	}), nil
}

// Module compiles a CommonJS module, which CouchDB gives to its engine as it is. It evaluates to a
// function of module, exports and require.
func (c *Compiler) Module(source string) *Program {
	return c.once("module", source, func() *Program {
		return Compile("(function (module, exports, require) { " + source + "\n });")
	})
}

// once makes the program of a source that is not among those that are kept.
func (c *Compiler) once(kind, source string, made func() *Program) *Program {
	key := sha256.Sum256([]byte(kind + "\x00" + source))
	p, ok := c.programs.Get(key)
	if !ok {
		p = made()
		c.programs.Add(key, p)
	}
	return p
}
