/** Three jobs to begin with. They work with the demo model, and each shows something else. */

const SALES = `region,quarter,amount
north,1,1200
south,1,950
west,1,400
east,1,1630
centre,1,720
north,2,700
south,2,1800
west,2,900
east,2,1210
centre,2,880
`;

const SALES_WITHOUT_EAST = SALES.split("\n").filter((line) => !line.startsWith("east")).join("\n");

const CHANGE = `diff --git a/shop/refunds.py b/shop/refunds.py
index 597dde4..fec6064 100644
--- a/shop/refunds.py
+++ b/shop/refunds.py
@@ -1,14 +1,26 @@
 from shop.store import Store
+import subprocess
 
 
 def refund(order, store: Store, gateway):
     """Refund an order once, and remember the reference of the gateway."""
     if order.id in store.refunded:
         return store.refunded[order.id]
-    reference = gateway.refund(order.total_cents)
+    try:
+        reference = gateway.refund(order.total_cents)
+    except Exception:
+        pass
     store.refunded[order.id] = reference
     return reference
 
 
+def find_orders(store: Store, name):
+    return store.query("select * from orders where customer = '" + name + "'")
+
+
+def export(order, folder):
+    subprocess.run("cp receipt.pdf " + folder, shell=True)
+
+
 def is_refunded(order, store: Store) -> bool:
     return order.id in store.refunded
`;

const GUIDELINES = `# Guidelines

- Amounts are whole cents.
- Errors of the gateway are raised, never swallowed.
- Queries take parameters; no text goes into SQL.
`;

export const EXAMPLES = [
  {
    name: "compare",
    title: "Five regions side by side",
    shows: "A plan with five tasks at once, one worker each, and a summary that waits for them all.",
    job: {
      objective:
        "Compare the north, the south, the west, the east and the centre by their sales, and write a short summary.",
      team: "general",
      inputs: [{ name: "sales.csv", text: SALES }],
    },
  },
  {
    name: "review",
    title: "A change, reviewed once you say so",
    shows:
      "The plan waits for you: read it, edit it, approve it. Then each lens looks at the change, and each finding is " +
      "looked up at its line.",
    job: {
      objective: "Review this change before it is merged. It moves money, so look at security too.",
      team: "code-review",
      inputs: [{ name: "change.diff", text: CHANGE }, { name: "CONTRIBUTING.md", text: GUIDELINES }],
      approval: "plan",
    },
  },
  {
    name: "gap",
    title: "An answer with a gap",
    shows:
      "The east is not in the table. Its task fails, and the run ends partial: the answer says what is missing, and " +
      "why.",
    job: {
      objective: "Compare the north, the south and the east by their sales, and write a short summary.",
      team: "general",
      inputs: [{ name: "sales.csv", text: SALES_WITHOUT_EAST }],
    },
  },
];
