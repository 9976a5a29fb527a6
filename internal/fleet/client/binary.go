package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
)

// UploadBinary uploads a binary and returns its digest and size. It can be repeated.
func (c *Client) UploadBinary(ctx context.Context, file io.Reader) (fleet.Bundle, error) {
	var b fleet.Bundle
	r, err := c.request(ctx, http.MethodPost, "/v1/binaries/file", nil)
	if err != nil {
		return b, err
	}
	r.Body = io.NopCloser(file)
	r.Header.Set("Content-Type", "application/octet-stream")
	answer, err := c.send(r)
	if err != nil {
		return b, err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&b); err != nil {
		return b, fmt.Errorf("cannot read the answer of the hub: %w", err)
	}
	return b, nil
}
