test "the certificate exists before nginx uses it" {
  vars = { domain = "www.example.org" }
  expect {
    order = ["PKG nginx*", "*/etc/nginx/tls/www.example.org.crt*", "COPY * /etc/nginx/conf.d/www.example.org.conf*", "UNIT nginx.service*"]
  }
}
