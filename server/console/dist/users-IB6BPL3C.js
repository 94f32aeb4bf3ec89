import{K as t,w as e}from"./chunk-2Z6O34JP.js";function r(){return e(t,{title:"Users and rights",children:e("p",{children:"Not made yet."})})}export{r as default};
