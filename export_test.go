package culm

import "github.com/culm-dev/culm/internal/engine"

// EngineConfig is what the engine is given.
func EngineConfig(c Config) engine.Config { return c.engine() }
