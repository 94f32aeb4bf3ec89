import{K as t,w as e}from"./chunk-2Z6O34JP.js";function o(){return e(t,{title:"Queries",children:e("p",{children:"Not made yet."})})}export{o as default};
