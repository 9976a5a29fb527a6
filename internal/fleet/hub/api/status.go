package api

import "net/http"

// The status of a [Refusal]. Packages that refuse requests do not need the package of HTTP for it.
const (
	BadRequest  = http.StatusBadRequest
	NotFound    = http.StatusNotFound
	Conflict    = http.StatusConflict
	TooMany     = http.StatusTooManyRequests
	Unavailable = http.StatusServiceUnavailable
)
