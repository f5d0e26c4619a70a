package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
)

//go:embed order.yaml
var order []byte

// shop takes orders, and says how they stand.
func shop(eng *culm.Engine) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		var args json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		v, err := eng.Start(r.Context(), culm.Start{Workflow: order, Args: args, Key: r.Header.Get("Idempotency-Key")})
		if err == nil && v.Repeated { // and may have ended long ago
			v, err = eng.Progress(r.Context(), v.RunID, culm.ProgressOptions{Values: true})
		}
		answer(w, v, err)
	})
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		v, err := eng.Progress(r.Context(), r.PathValue("id"), culm.ProgressOptions{Values: true})
		answer(w, v, err)
	})
	return mux
}

// answer writes how an order stands, or why a call was refused.
func answer(w http.ResponseWriter, v *run.View, err error) {
	var refused *culm.Error
	switch {
	case errors.As(err, &refused):
		http.Error(w, refused.Error(), status(refused.Code))
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"id": v.RunID, "status": v.Status, "output": v.Output})
}

// status is the HTTP status for a refusal: each has a stable code.
func status(code string) int {
	switch code {
	case culm.CodeNotFound:
		return http.StatusNotFound
	case culm.CodeInvalidInput, culm.CodeTooLarge:
		return http.StatusBadRequest
	case culm.CodeKeyConflict:
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}
