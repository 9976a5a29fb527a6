target "db1" {
  modules = ["postgresql"]
  vars    = { databases = { shop = "shop", reports = "reports" } }
}
