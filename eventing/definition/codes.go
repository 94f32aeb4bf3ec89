package definition

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// Code is the number of an error, as Couchbase's clients know it. 0 is success.
type Code int

// The errors, by the numbers that are on the wire.
const (
	CodeOK                Code = 0
	CodeSetSettings       Code = 7
	CodeNotDeployed       Code = 12
	CodeNotFound          Code = 13
	CodeReadRequest       Code = 15
	CodeUnmarshal         Code = 16
	CodeSourceIsMetadata  Code = 17
	CodeAlreadyDeployed   Code = 20
	CodeNotBootstrapped   Code = 21
	CodeNotUndeployed     Code = 22
	CodeStatusesNotFound  Code = 23
	CodeCompilation       Code = 27
	CodeNameMismatch      Code = 29
	CodeSaveConfig        Code = 33
	CodeRebalanceOngoing  Code = 36
	CodeInvalidConfig     Code = 38
	CodeCodeSize          Code = 39
	CodeBucketMissing     Code = 41
	CodeDebuggerDisabled  Code = 45
	CodeMixedMode         Code = 46
	CodeDatabaseAccess    Code = 49
	CodeFunctionRecursion Code = 50
	CodeDatabaseRecursion Code = 51
	CodeUnknownFunction   Code = 53
	CodeOperationFailed   Code = 55
	CodeCollectionMissing Code = 56
	CodeInternal          Code = 59
	CodeForbidden         Code = 60
	CodeUnauthenticated   Code = 61
	CodeMethodNotAllowed  Code = 62
	CodeInvalidRequest    Code = 63
	CodePaused            Code = 64
)

// codeRow is what an error of a code is on the wire.
type codeRow struct {
	Code        Code     `json:"code"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Attributes  []string `json:"attributes,omitempty"`
	status      int
}

// retry is the attribute of errors that may be over when the request is made again.
const retry = "retry"

// codeTable is the one place where codes get their wire form. Couchbase answers 400 for the unknown
// function of a lifecycle operation (53); here it is 404, as it is everywhere else.
var codeTable = []codeRow{
	{CodeSetSettings, "ERR_SET_SETTINGS_PS", "Failed to store the settings", nil, http.StatusInternalServerError},
	{CodeNotDeployed, "ERR_APP_NOT_DEPLOYED", "Function is not deployed", nil, http.StatusNotAcceptable},
	{CodeNotFound, "ERR_APP_NOT_FOUND_TS", "Function not found", nil, http.StatusNotFound},
	{CodeReadRequest, "ERR_READ_REQ", "Failed to read the request", nil, http.StatusBadRequest},
	{CodeUnmarshal, "ERR_UNMARSHAL_PLD", "The request's body is not what was expected", nil, http.StatusBadRequest},
	{CodeSourceIsMetadata, "ERR_SRC_MB_SAME", "Source and metadata must not be the same", nil,
		http.StatusUnprocessableEntity},
	{CodeAlreadyDeployed, "ERR_APP_ALREADY_DEPLOYED", "Function is deployed already", nil,
		http.StatusUnprocessableEntity},
	{CodeNotBootstrapped, "ERR_APP_NOT_BOOTSTRAPPED", "Function is being deployed", nil, http.StatusLocked},
	{CodeNotUndeployed, "ERR_APP_NOT_UNDEPLOYED", "Function is not undeployed", nil, http.StatusUnprocessableEntity},
	{CodeStatusesNotFound, "ERR_PROCESSING_OR_DEPLOYMENT_STATUS_NOT_FOUND",
		"processing_status or deployment_status is missing or no boolean", nil, http.StatusBadRequest},
	{CodeCompilation, "ERR_HANDLER_COMPILATION", "Function does not compile", nil, http.StatusUnprocessableEntity},
	{CodeNameMismatch, "ERR_APPNAME_MISMATCH", "The names in the path and in the body differ", nil,
		http.StatusUnprocessableEntity},
	{CodeSaveConfig, "ERR_SAVE_CONFIG", "Failed to store the configuration", nil, http.StatusBadRequest},
	{CodeRebalanceOngoing, "ERR_REBALANCE_OR_FAILOVER_ONGOING", "Work is being redistributed", nil,
		http.StatusNotAcceptable},
	{CodeInvalidConfig, "ERR_INVALID_CONFIG", "Invalid configuration", nil, http.StatusBadRequest},
	{CodeCodeSize, "ERR_APPCODE_SIZE", "The code is too large", nil, http.StatusBadRequest},
	{CodeBucketMissing, "ERR_BUCKET_MISSING", "Database does not exist", nil, http.StatusBadRequest},
	{CodeDebuggerDisabled, "ERR_DEBUGGER_DISABLED", "The debugger is switched off", nil, http.StatusBadRequest},
	{CodeMixedMode, "ERR_MIXED_MODE", "Not while nodes have different versions", nil, http.StatusNotAcceptable},
	{CodeDatabaseAccess, "ERR_BUCKET_ACCESS", "Database cannot be used", nil, http.StatusBadRequest},
	{CodeFunctionRecursion, "ERR_INTER_FUNCTION_RECURSION", "Functions would trigger each other", nil,
		http.StatusBadRequest},
	{CodeDatabaseRecursion, "ERR_INTER_BUCKET_RECURSION", "Changes would come back to their database", nil,
		http.StatusBadRequest},
	{CodeUnknownFunction, "ERR_APP_NOT_FOUND", "Function not found", nil, http.StatusNotFound},
	{CodeOperationFailed, "ERR_REQUESTED_OP_FAILED", "The operation failed", nil, http.StatusBadRequest},
	{CodeCollectionMissing, "ERR_COLLECTION_MISSING", "Collection or scope does not exist", nil,
		http.StatusBadRequest},
	{CodeInternal, "INTERNAL_SERVER_ERROR", "Internal server error", []string{retry},
		http.StatusInternalServerError},
	{CodeForbidden, "ERR_FORBIDDEN", "Not allowed", nil, http.StatusForbidden},
	{CodeUnauthenticated, "ERR_UNAUTHENTICATED", "Name and password are needed", nil, http.StatusUnauthorized},
	{CodeMethodNotAllowed, "ERR_METHOD_NOT_ALLOWED", "Method not allowed", nil, http.StatusMethodNotAllowed},
	{CodeInvalidRequest, "ERR_INVALID_REQUEST", "Invalid request", nil, http.StatusBadRequest},
	{CodePaused, "ERR_APP_PAUSED", "Function is paused already", nil, http.StatusUnprocessableEntity},
}

func (c Code) row() *codeRow {
	i := slices.IndexFunc(codeTable, func(r codeRow) bool { return r.Code == c })
	if i < 0 {
		return CodeInternal.row()
	}
	return &codeTable[i]
}

// Status is the HTTP status of answers with the code.
func (c Code) Status() int {
	if c == CodeOK {
		return http.StatusOK
	}
	return c.row().status
}

// Name is what the code is called, `ERR_APP_NOT_FOUND_TS`.
func (c Code) Name() string {
	if c == CodeOK {
		return "OK"
	}
	return c.row().Name
}

// ErrorCodes is the answer of getErrorCodes, as JSON with an indentation of one space.
func ErrorCodes() []byte {
	text, err := JSON(struct {
		HeaderKey string    `json:"header_key"`
		Version   int       `json:"version"`
		Revision  int       `json:"revision"`
		Errors    []codeRow `json:"errors"`
	}{"status", 1, 1, codeTable})
	if err != nil {
		panic(err) // strings and numbers
	}
	return text
}

// Error is what a client is told that cannot be done.
type Error struct {
	Code Code
	// Description is a text, or a CompileError.
	Description any
	// Attributes are more than those of the code.
	Attributes []string
}

// Errorf makes an Error with a text.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Description: fmt.Sprintf(format, args...)}
}

// Error implements error.
func (e *Error) Error() string {
	if text, ok := e.Description.(string); ok {
		return text
	}
	return fmt.Sprint(e.Description)
}

// MarshalJSON is the error's form on the wire.
func (e *Error) MarshalJSON() ([]byte, error) {
	return JSON(struct {
		Name        string   `json:"name"`
		Code        Code     `json:"code"`
		Description any      `json:"description"`
		Attributes  []string `json:"attributes,omitempty"`
	}{e.Code.Name(), e.Code, e.Description, slices.Concat(e.Code.row().Attributes, e.Attributes)})
}

// AsError gives the Error that err is, or one of CodeInternal with its text.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(CodeInternal, "%v", err)
}

// CompileError is the description of an Error of CodeCompilation: where the code is wrong.
type CompileError struct {
	Language       string `json:"language"`
	CompileSuccess bool   `json:"compile_success"`
	Index          int    `json:"index"`
	LineNumber     int    `json:"line_number"`
	ColumnNumber   int    `json:"column_number"`
	Area           string `json:"area"`
	Description    string `json:"description"`
}

// String is the description with its line.
func (c CompileError) String() string {
	return fmt.Sprintf("line %d, column %d: %s", c.LineNumber, c.ColumnNumber, c.Description)
}

// NewCompileError makes the Error of code that does not compile. line and column count from 1,
// index is the offset in bytes.
func NewCompileError(index, line, column int, description string) *Error {
	return &Error{Code: CodeCompilation, Description: CompileError{
		Language: "JavaScript", Index: index, LineNumber: line, ColumnNumber: column, Area: "handler.js",
		Description: description,
	}}
}
