test "checked before it counts" {
  vars = { nginx_workers = 8 }
  expect {
    steps = ["COPY * /etc/nginx/nginx.conf validate=\"nginx -t\"", "ACT reload nginx.service*"]
    order = ["PKG nginx", "COPY * /etc/nginx/nginx.conf*", "UNIT nginx.service*"]
  }
}
