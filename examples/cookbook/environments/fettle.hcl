# From low to high: data/common.yaml, the file of the environment, the target.
data = ["data/common.yaml"]

target_group "prod" {
  labels  = { env = "prod" }
  modules = ["app"]
  data    = ["data/prod.yaml"]
  policy { on_failure = "undo" }
}

target_group "test" {
  labels  = { env = "test" }
  modules = ["app"]
  data    = ["data/test.yaml"]
}

target "app1" { labels = { env = "prod" } }
target "app2" {
  labels = { env = "prod" }
  vars   = { workers = 16 } # a larger host
}
target "test1" { labels = { env = "test" } }
